import type { LocalSettings } from '../src/platform/env.ts';
import { watchParent } from './parent-watch.ts';
import { readyJson, readyText } from './ready-message.ts';
import { type Product, type Stack, startStack } from './stack.ts';

export interface RunOptions {
  settings: LocalSettings;
  product: Product;
  /** Print one JSON line to standard output when ready, and everything else to standard error. */
  json: boolean;
}

/** npm forwards a signal that the terminal has already sent, so two signals within this time count as one. */
const SAME_SIGNAL_MS = 1000;

/**
 * Runs the stack until it is stopped (by SIGINT, SIGTERM, SIGHUP or the end of npm) or a part of it ends. A second signal
 * shortens the delays. Returns the exit code: 0 after a requested stop, 1 after a failure.
 */
export async function runStack({ settings, product, json }: RunOptions): Promise<number> {
  // A closed terminal or pipe must not end this process before its children.
  for (const stream of [process.stdout, process.stderr]) stream.on('error', () => {});
  const print = (line: string) => void (json ? process.stderr : process.stdout).write(`${line}\n`);
  const printError = (line: string) => void process.stderr.write(`${line}\n`);

  let stack: Stack | undefined;
  let askedAt: number | undefined;
  const giveUp = new AbortController();
  const asked = Promise.withResolvers<number>();
  const ask = (why: string, code = 0) => {
    if (askedAt === undefined) {
      askedAt = performance.now();
      print(`Stopping (${why})`);
      asked.resolve(code);
      giveUp.abort();
    } else if (performance.now() - askedAt > SAME_SIGNAL_MS) {
      print('Stopping immediately');
      stack?.stop({ hasty: true }).catch(() => {});
    }
  };
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.on(signal, () => ask(signal));
  process.on('uncaughtException', (error) => {
    printError(`Unexpected: ${error.stack}`);
    ask('after an error', 1);
  });
  const endWatch = settings.startedByNpm ? watchParent(() => ask('npm has ended')) : () => {};
  // Children do not keep this process alive, so a timer does.
  const stay = setInterval(() => {}, 60_000);
  try {
    stack = await startStack({ settings, product, log: print, signal: giveUp.signal });
    if (askedAt === undefined) {
      if (json) process.stdout.write(`${readyJson(stack, process.pid)}\n`);
      else print(readyText(stack));
    }
    const broken = stack.broken.then((what) => {
      // While stopping, parts end on purpose, and `stop` reports failures.
      if (askedAt === undefined) printError(what);
      return 1;
    });
    const code = await Promise.race([asked.promise, broken]);
    await stack.stop();
    print('Stopped.');
    return code;
  } catch (error) {
    if (giveUp.signal.aborted && !(error instanceof AggregateError)) {
      print('Stopped.');
      return asked.promise;
    }
    printError(error instanceof Error ? error.message : String(error));
    return 1;
  } finally {
    clearInterval(stay);
    endWatch();
  }
}
