// A task of the pool's own tests.
export type Behaviour = 'answer' | 'rest' | 'spin' | 'grow' | 'allocate' | 'throw' | 'exit';

export function perform({ behaviour, value }: { behaviour: Behaviour; value: unknown }): unknown {
  switch (behaviour) {
    case 'answer':
      return value;
    case 'rest':
      // As on a machine that has no processor left for it.
      Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, value as number);
      return value;
    case 'spin':
      for (;;);
    case 'grow': {
      const kept: unknown[] = [];
      for (;;) kept.push({ value: kept.length });
    }
    case 'allocate':
      // One allocation beyond any limit: of a thread, it would end the whole process.
      return 'x'.repeat(400_000_000).split('').length;
    case 'throw':
      throw new Error('a mistake in a task');
    case 'exit':
      return process.exit(0);
  }
}
