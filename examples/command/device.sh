#!/bin/bash
# A device behind a serial line, played by a shell behind a pseudo-terminal:
#   latido run command -- socat - EXEC:./device.sh,pty,rawer
# A real one is the same with its line in place of EXEC: ... -- socat - /dev/ttyACM0,b115200,rawer
# Its clock is its own (clock=device), and each line has a checksum, since serial lines lose and turn bits.

# A line with `*HH` behind it: all bytes before, by exclusive or.
tell() {
    local sum=0 index
    for ((index = 0; index < ${#1}; index++)); do
        printf -v code %d "'${1:index:1}"
        sum=$((sum ^ code))
    done
    printf '%s*%02X\r\n' "$1" "$sum"
}

tell 'latido-samples 1'
tell 'series 0 quantity=latency unit=us clock=device period=10000000 label.node=device'
tell ready
read -r _ # go
count=0
until read -r -t 0.01 _; do # stop
    now=${EPOCHREALTIME/./}
    tell "0 $((now % 10000 / 10)).5 $((count * 10000000))"
    count=$((count + 1))
done
tell "end 0 $count"
