import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;
import java.io.PrintStream;
import java.util.concurrent.locks.LockSupport;

/**
 * How long a Java thread sleeps that asks for 1000 us: a source of samples for `latido run command -- java Timers.java`.
 *
 * It repeats, in Java, measurement 5 (timers) of the study "scheduling-latency" (2019), which names this as its future work: the
 * measured length of a relative and of an absolute sleep of 1000 us. The quantity is the length between two readings of the
 * clock around the sleep, as in the study and in `latido run sleep`; it is no lateness. Java has no absolute sleep: one until
 * a time is parked for what is left until then, in the order that cannot go below 1000 us.
 *
 * System.nanoTime() is CLOCK_MONOTONIC on Linux. Samples lie in arrays that are made before, since garbage would be collected
 * among the samples; they are written when all is over.
 */
public class Timers {
    static final long LENGTH = 1_000_000;
    static final int MOST = 2_000_000;

    static final long[][] length = new long[2][MOST];
    static final long[][] end = new long[2][MOST];
    static final int[] count = new int[2];
    static final long[] dropped = new long[2];
    static volatile boolean over;

    /** The thread's number in the kernel: the link /proc/thread-self is PID/task/TID. */
    static long tid() throws IOException {
        String link = java.nio.file.Files.readSymbolicLink(java.nio.file.Path.of("/proc/thread-self")).toString();
        return Long.parseLong(link.substring(link.lastIndexOf('/') + 1));
    }

    static void relative() {
        long begin = System.nanoTime();
        LockSupport.parkNanos(LENGTH);
        keep(0, begin, System.nanoTime());
    }

    static void absolute() {
        long begin = System.nanoTime();
        long due = begin + LENGTH;
        long now = begin;
        while (now < due) {
            LockSupport.parkNanos(due - now);
            now = System.nanoTime();
        }
        keep(1, begin, now);
    }

    static void keep(int series, long begin, long now) {
        int place = count[series];
        if (place == MOST) {
            dropped[series]++;
            return;
        }
        length[series][place] = now - begin;
        end[series][place] = now;
        count[series] = place + 1;
    }

    public static void main(String[] arguments) throws Exception {
        PrintStream out = new PrintStream(new java.io.FileOutputStream(java.io.FileDescriptor.out), false, "US-ASCII");
        StringBuilder text = new StringBuilder("latido-samples 1\n");
        long[] tid = new long[1];
        Object started = new Object();
        boolean[] go = new boolean[1];
        Thread measuring = new Thread(() -> {
            try {
                synchronized (started) {
                    tid[0] = tid();
                    started.notifyAll();
                    while (!go[0]) {
                        started.wait();
                    }
                }
            } catch (IOException | InterruptedException error) {
                throw new IllegalStateException(error);
            }
            while (!over) {
                relative();
                absolute();
            }
        });
        synchronized (started) {
            measuring.start();
            while (tid[0] == 0) {
                started.wait();
            }
        }
        String[] modes = {"relative", "absolute"};
        for (int series = 0; series < 2; series++) {
            text.append("series ").append(series).append(" quantity=length unit=ns clock=monotonic tid=").append(tid[0]);
            text.append(" label.mode=").append(modes[series]).append(" label.by=java\n");
        }
        out.print(text.append("ready\n"));
        out.flush();
        BufferedReader in = new BufferedReader(new InputStreamReader(System.in));
        in.readLine(); // go
        synchronized (started) {
            go[0] = true;
            started.notifyAll();
        }
        in.readLine(); // stop, or the end of input
        over = true;
        measuring.join();
        text.setLength(0);
        for (int series = 0; series < 2; series++) {
            for (int place = 0; place < count[series]; place++) {
                text.append(series).append(' ').append(length[series][place]).append(' ');
                text.append(end[series][place]).append('\n');
                if (text.length() > 1 << 16) {
                    out.print(text);
                    text.setLength(0);
                }
            }
            if (dropped[series] > 0) {
                text.append("drop ").append(series).append(' ').append(dropped[series]).append('\n');
            }
            text.append("end ").append(series).append(' ').append(count[series] + dropped[series]).append('\n');
        }
        out.print(text);
        out.close();
    }
}
