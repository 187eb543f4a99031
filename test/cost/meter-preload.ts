import { createServer, type Socket } from 'node:net';
import { createInterface } from 'node:readline';
import { getHeapStatistics, setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { isMainThread } from 'node:worker_threads';
import type { MeterAnswer, MeterQuestion } from './meter.ts';

// Loaded by `node --import` into a process of the product, beside the product's own code and without its knowledge.

/** How often the CPU time is read while something is measured: a stretch is found to this precision. */
const tickMs = 5;
/** The process is quiet when it uses less than this in one window. */
const quietWindowMs = 25;
const quietCpuMs = 2;

const socketPath = new URL(import.meta.url).searchParams.get('socket');

setFlagsFromString('--expose-gc');
const collect: () => void = runInNewContext('gc');

const nap = new Int32Array(new SharedArrayBuffer(4));

/**
 * CPU time of this thread, in ms, as it was written down. The time that it waits for a processor does not count. Linux
 * writes down what a running thread used every few milliseconds, and when it stops to run.
 */
function writtenCpuMs(): number {
  const { user, system } = process.threadCpuUsage();
  return (user + system) / 1_000;
}

/** The same up to now: the thread stops for a moment, for which it pays with its place where many wait for a processor. */
function threadCpuMs(): number {
  Atomics.wait(nap, 0, 0, 0.01);
  return writtenCpuMs();
}

/** What JavaScript holds, inside and outside its heap, in MiB. */
function heldMb(): number {
  const { used_heap_size: heap, external_memory: external } = getHeapStatistics();
  return (heap + external) / 1024 ** 2;
}

class Measurement {
  readonly #heldBefore = heldMb();
  readonly #timer = setInterval(() => this.#tick(), tickMs);
  #last = threadCpuMs();
  #lapBegun = this.#last;
  #heldAtLap = this.#heldBefore;
  #stretchMs = 0;
  #peakMb = 0;

  #tick(now = writtenCpuMs()): void {
    this.#stretchMs = Math.max(this.#stretchMs, now - this.#last);
    this.#last = now;
    this.#peakMb = Math.max(this.#peakMb, heldMb() - this.#heldAtLap);
  }

  read(): MeterAnswer {
    this.#tick(threadCpuMs());
    return {
      cpuMs: this.#last - this.#lapBegun,
      stretchMs: this.#stretchMs,
      heldMb: heldMb() - this.#heldBefore,
      peakMb: this.#peakMb,
    };
  }

  /** Everything but what is held is counted anew. */
  beginLap(): void {
    this.#lapBegun = this.#last;
    this.#heldAtLap = heldMb();
    this.#stretchMs = 0;
    this.#peakMb = 0;
  }

  end(): void {
    clearInterval(this.#timer);
  }
}

let measurement: Measurement | undefined;
const nothing: MeterAnswer = { cpuMs: 0, stretchMs: 0, heldMb: 0, peakMb: 0 };

const names = Array.from({ length: 20_000 }, (_, index) => [`k${index}`, index]);
const reference = JSON.stringify(Object.fromEntries(names));

/**
 * CPU time of a piece of work that is always the same, and uses as much memory as most of what is measured: processors
 * differ, and slow down where others use them too.
 */
function referenceMs(): number {
  const rounds = 12;
  const before = threadCpuMs();
  for (let round = 0; round < rounds; round++) {
    JSON.parse(reference);
    for (let at = 0; at < reference.length; at++) if (reference[at] === '\0') throw new Error('It has no such thing.');
  }
  return (threadCpuMs() - before) / rounds;
}

/** Resolves when this thread has little to do for a moment. */
async function quiet(): Promise<void> {
  for (let before = writtenCpuMs(); ; before = writtenCpuMs()) {
    await new Promise((resolve) => setTimeout(resolve, quietWindowMs));
    if (writtenCpuMs() - before < quietCpuMs) return;
  }
}

async function answer(question: MeterQuestion): Promise<MeterAnswer> {
  if (question === 'begin') {
    measurement?.end();
    measurement = new Measurement();
    return nothing;
  }
  if (question === 'reference') return Object.assign({}, nothing, { cpuMs: referenceMs() });
  if (question === 'settle') await quiet();
  if (question === 'collect') collect();
  const read = measurement?.read() ?? nothing;
  if (question === 'lap' || question === 'settle') measurement?.beginLap();
  if (question === 'end') {
    measurement?.end();
    measurement = undefined;
  }
  return read;
}

function serve(socket: Socket): void {
  socket.on('error', () => {});
  createInterface({ input: socket }).on('line', async (line) => {
    socket.write(`${JSON.stringify(await answer(line as MeterQuestion))}\n`);
  });
}

// Its threads and what it starts inherit the option, and have nothing to measure.
if (isMainThread && socketPath && process.argv[1]?.endsWith('test/cost/soon-retried.ts')) {
  createServer((socket) => serve(socket.unref()))
    .listen(socketPath)
    .unref();
}
