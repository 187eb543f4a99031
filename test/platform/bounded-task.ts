// A task of the pool's own tests.
import { spawnSync } from 'node:child_process';
import { getPriority } from 'node:os';

export type Behaviour =
  | 'answer'
  | 'rest'
  | 'halt'
  | 'spin'
  | 'grow'
  | 'recur'
  | 'allocate'
  | 'throw'
  | 'exit'
  | 'priority'
  | 'later'
  | 'never'
  | 'swell';

export function perform({ behaviour, value }: { behaviour: Behaviour; value: unknown }): unknown {
  switch (behaviour) {
    case 'answer':
      return value;
    case 'priority':
      return getPriority();
    case 'rest':
      // As on a machine that has no processor left for it.
      Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, value as number);
      return value;
    case 'halt':
      // The same for a machine that leaves none for cutting it short either.
      spawnSync('/bin/sleep', [String(value)]);
      return value;
    case 'spin':
      for (;;);
    case 'grow': {
      const kept: unknown[] = [];
      for (;;) kept.push({ value: kept.length });
    }
    case 'recur': {
      const recur = (): number => 1 + recur();
      return recur();
    }
    case 'allocate':
      // One allocation beyond any limit: of a thread, it would end the whole process.
      return 'x'.repeat(400_000_000).split('').length;
    case 'later':
      return new Promise((resolve) => setTimeout(() => resolve(value), 5));
    case 'never':
      return new Promise(() => {});
    case 'swell': {
      // Outside the heap, as libraries of other languages do.
      const kept: Buffer[] = [];
      return new Promise(() => setInterval(() => kept.push(Buffer.alloc(20_000_000, 1)), 1));
    }
    case 'throw':
      throw new Error('a mistake in a task');
    case 'exit':
      return process.exit(0);
  }
}
