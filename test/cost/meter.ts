import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { connect, type Socket } from 'node:net';
import { join } from 'node:path';
import { createInterface } from 'node:readline';

/** What was used in a lap of a measurement. */
export interface MeterAnswer {
  /** CPU time of the main thread. */
  cpuMs: number;
  /** The most of it between two runs of the event loop's timers: no other caller was served meanwhile. */
  stretchMs: number;
  /** What JavaScript holds more than at the beginning of the measurement, in MiB. */
  heldMb: number;
  /** The most that it held more than at the beginning of the lap. */
  peakMb: number;
}

/**
 * - `begin` starts a measurement with its first lap, and ends the one before it
 * - `lap` answers what the lap used, and begins the next one
 * - `settle` does the same when the thread has little to do
 * - `collect` answers after a collection of garbage
 * - `reference` answers with the CPU time of a piece of work that is always the same
 */
export type MeterQuestion = 'begin' | 'lap' | 'settle' | 'collect' | 'end' | 'reference';

const preload = new URL('./meter-preload.ts', import.meta.url);

/** Reads the cost of one process of the product from inside it, through a socket that its own code knows nothing of. */
export class Meter {
  readonly #path: string;
  #socket: Socket | undefined;
  readonly #waiting: PromiseWithResolvers<MeterAnswer>[] = [];

  constructor(folder: string) {
    this.#path = join(folder, `meter-${randomBytes(6).toString('hex')}.sock`);
  }

  /** For NODE_OPTIONS of the process. */
  get option(): string {
    preload.searchParams.set('socket', this.#path);
    return `--import=${preload.href}`;
  }

  async connect(): Promise<void> {
    const socket = connect(this.#path);
    await once(socket, 'connect');
    createInterface({ input: socket }).on('line', (line) => this.#waiting.shift()!.resolve(JSON.parse(line)));
    // It closes after an error too. Without this a test would wait for a process that has ended.
    socket.on('error', () => {});
    socket.on('close', () => {
      for (const { reject } of this.#waiting.splice(0)) reject(new Error('The measured process has ended.'));
    });
    this.#socket = socket.unref();
  }

  ask(question: MeterQuestion): Promise<MeterAnswer> {
    if (!this.#socket) throw new Error('The meter is not connected.');
    const asked = Promise.withResolvers<MeterAnswer>();
    if (this.#socket.destroyed) asked.reject(new Error('The measured process has ended.'));
    else {
      this.#waiting.push(asked);
      this.#socket.write(`${question}\n`);
    }
    return asked.promise;
  }

  close(): void {
    this.#socket?.destroy();
  }
}
