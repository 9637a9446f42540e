(() => {
  const root = document.documentElement, all = (q, e = document) => [...e.querySelectorAll(q)], id = i => document.getElementById(i);
  id('theme').onclick = () => {
    const now = root.dataset.theme || (matchMedia('(prefers-color-scheme:dark)').matches ? 'dark' : 'light');
    root.dataset.theme = now === 'dark' ? 'light' : 'dark';
  };
  id('print').onclick = () => print();
  id('download').onclick = () => {
    const a = document.createElement('a');
    a.href = URL.createObjectURL(new Blob([id('data').textContent], { type: 'application/json' }));
    a.download = 'latido.json';
    a.click();
    setTimeout(() => URL.revokeObjectURL(a.href), 1000);
  };
  const copy = async text => {
    try { await navigator.clipboard.writeText(text); return true; } catch { /* not permitted here: the old way */ }
    const area = document.createElement('textarea'), before = document.activeElement;
    area.value = text;
    document.body.append(area);
    area.select();
    const done = document.execCommand('copy');
    area.remove();
    before?.focus();
    return done;
  };
  all('[data-copy]').forEach(b => b.onclick = async () => {
    const said = b.textContent;
    b.textContent = await copy(id(b.dataset.copy).textContent) ? 'Copied' : 'Copying was refused';
    setTimeout(() => { b.textContent = said; }, 1500);
  });
  all('[data-t]').forEach(b => b.onclick = () => {
    const on = b.getAttribute('aria-pressed') !== 'true';
    b.setAttribute('aria-pressed', on);
    all(`figure [data-s="${b.dataset.t}"]`, b.closest('section')).forEach(g => g.classList.toggle('off-series', !on));
  });
  const unfold = () => {
    const aim = id(decodeURIComponent(location.hash.slice(1)));
    for (let e = aim; e; e = e.parentElement) if (e.tagName === 'DETAILS') e.open = true;
    aim?.scrollIntoView();
  };
  if (location.hash) unfold();
  addEventListener('hashchange', unfold);
})();
