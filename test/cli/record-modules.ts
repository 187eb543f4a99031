import { writeFileSync } from 'node:fs';
import { registerHooks } from 'node:module';

/** Preloaded by a process whose modules a test looks at: their URLs are written, at its end, to the `file` of its own URL. */
const file = new URL(import.meta.url).searchParams.get('file');
const urls = new Set<string>();

registerHooks({
  load(url, context, nextLoad) {
    urls.add(url);
    return nextLoad(url, context);
  },
});
process.on('exit', () => {
  if (file) writeFileSync(file, JSON.stringify([...urls]));
});
