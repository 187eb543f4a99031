import { LocalDisk } from '../../src/storage/local-disk.ts';

/** Entry point of a product process whose disk fails on demand: each SIGUSR2 changes to the next of these. */
const states = ['works', 'is full', 'is broken'] as const;
const codes = { 'is full': 'ENOSPC', 'is broken': 'EIO' } as const;
let state: (typeof states)[number] = 'works';

const { put } = LocalDisk.prototype;
LocalDisk.prototype.put = async function failing(this: LocalDisk, ...given) {
  if (state !== 'works') throw Object.assign(new Error(`The disk ${state}.`), { code: codes[state] });
  await put.apply(this, given);
};

process.on('SIGUSR2', () => {
  state = states[(states.indexOf(state) + 1) % states.length]!;
  console.log(`the disk ${state}`);
});

await import('../../workers/main.ts');
