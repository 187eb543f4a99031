import { describe, expect, test } from '@jest/globals';
import { settleAll } from './settle-all.ts';
import { createShutdown } from './shutdown.ts';

describe('the shutdown', () => {
  test('stops the app first and PostgreSQL last, however they came up, and each when another would not stop', async () => {
    const stopped: string[] = [];
    const shutdown = createShutdown(() => {});
    shutdown.add('postgres', { stop: async () => void stopped.push('postgres') });
    shutdown.add('app', { stop: async () => void stopped.push('app') });
    shutdown.add('temporal', { stop: () => Promise.reject(new Error('stuck')) });
    await expect(shutdown.run()).rejects.toThrow('stuck');
    expect(stopped).toEqual(['app', 'postgres']);
  });

  test('hurries the part it waits for and those after it', async () => {
    const asked: unknown[] = [];
    const gone = Promise.withResolvers<void>();
    const shutdown = createShutdown(() => {});
    shutdown.add('app', {
      stop(options) {
        asked.push(['app', options?.hasty]);
        if (options?.hasty) gone.resolve();
        return gone.promise;
      },
    });
    shutdown.add('temporal', { stop: async (options) => void asked.push(['temporal', options?.hasty]) });
    const patient = shutdown.run();
    await Promise.all([patient, shutdown.run({ hasty: true })]);
    expect(asked).toEqual([
      ['app', false],
      ['app', true],
      ['temporal', true],
    ]);
  });
});

describe('settleAll', () => {
  test('waits for all, signals the first failure to the others, and throws it', async () => {
    const seen: string[] = [];
    const all = settleAll(new AbortController().signal, (signal) => [
      Promise.reject(new Error('first')),
      new Promise<void>((resolve) => {
        signal.addEventListener('abort', () => {
          seen.push('told');
          resolve();
        });
      }),
    ]);
    await expect(all).rejects.toThrow('first');
    expect(seen).toEqual(['told']);
  });
});
