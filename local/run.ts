import type { LocalSettings } from '../src/platform/env.ts';
import { watchParent } from './parent-watch.ts';
import { readyJson, readyText } from './ready-message.ts';
import { type Product, type Stack, startStack } from './stack.ts';

export interface RunOptions {
  settings: LocalSettings;
  product: Product;
  /** One line of JSON on standard output when ready, and everything else on standard error. */
  json: boolean;
}

/** npm passes on the signal that the terminal already sent us: two within this time are one wish. */
const SAME_WISH_MS = 1000;

/**
 * Runs the stack until it is told to stop (SIGINT, SIGTERM, SIGHUP, or npm gone) or a part of it breaks; a second signal hurries.
 * Answers the exit code: 0 after a stop that was asked for, 1 when something failed.
 */
export async function runStack({ settings, product, json }: RunOptions): Promise<number> {
  // A terminal or a pipe that is gone must not end us before our children.
  for (const stream of [process.stdout, process.stderr]) stream.on('error', () => {});
  const say = (line: string) => void (json ? process.stderr : process.stdout).write(`${line}\n`);
  const complain = (line: string) => void process.stderr.write(`${line}\n`);

  let stack: Stack | undefined;
  let askedAt: number | undefined;
  const giveUp = new AbortController();
  const asked = Promise.withResolvers<number>();
  const ask = (why: string, code = 0) => {
    if (askedAt === undefined) {
      askedAt = performance.now();
      say(`Stopping (${why})`);
      asked.resolve(code);
      giveUp.abort();
    } else if (performance.now() - askedAt > SAME_WISH_MS) {
      say('Stopping at once');
      stack?.stop({ hasty: true }).catch(() => {});
    }
  };
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.on(signal, () => ask(signal));
  process.on('uncaughtException', (error) => {
    complain(`Unexpected: ${error.stack}`);
    ask('after an error', 1);
  });
  const endWatch = settings.startedByNpm ? watchParent(() => ask('npm is gone')) : () => {};
  // Children are followed in the background: this is what keeps us here until the end.
  const stay = setInterval(() => {}, 60_000);
  try {
    stack = await startStack({ settings, product, log: say, signal: giveUp.signal });
    if (askedAt === undefined) {
      if (json) process.stdout.write(`${readyJson(stack, process.pid)}\n`);
      else say(readyText(stack));
    }
    const broken = stack.broken.then((what) => {
      // What ends while we stop was told to, or is reported by the stop.
      if (askedAt === undefined) complain(what);
      return 1;
    });
    const code = await Promise.race([asked.promise, broken]);
    await stack.stop();
    say('Stopped.');
    return code;
  } catch (error) {
    if (giveUp.signal.aborted && !(error instanceof AggregateError)) {
      say('Stopped.');
      return asked.promise;
    }
    complain(error instanceof Error ? error.message : String(error));
    return 1;
  } finally {
    clearInterval(stay);
    endWatch();
  }
}
