import type { JSONRPCMessage, Transport } from '@modelcontextprotocol/client';
import { maxMessageLength, maxNotifications } from '../limits.ts';
import { AnswerTooLarge, TooManyNotifications } from '../tool.ts';
import type { ServerProcess } from './server-process.ts';

const newline = 0x0a;

/** For which a process may end by itself. */
const graceMs = 500;

/**
 * Messages of the Model Context Protocol over a process's standard input and output, a line each. A line that is too long,
 * or no message, ends the process: nothing it says after that could be told apart.
 */
export class ProcessTransport implements Transport {
  onclose?: () => void;
  onerror?: (error: Error) => void;
  onmessage?: (message: JSONRPCMessage) => void;
  /** Why the process was ended here. */
  failure: Error | undefined;
  readonly #process: ServerProcess;
  #pieces: Buffer[] = [];
  #size = 0;
  /** Lines since the last message was sent. */
  #lines = 0;

  constructor(process: ServerProcess) {
    this.#process = process;
  }

  async start(): Promise<void> {
    this.#process.child.stdout.on('data', (data: Buffer) => this.#take(data));
    void this.#process.ended.then(() => this.onclose?.());
  }

  async send(message: JSONRPCMessage): Promise<void> {
    if (!this.#process.isAlive) throw new Error('The process of the tool server has ended.');
    this.#lines = 0;
    this.#process.child.stdin.write(`${JSON.stringify(message)}\n`);
  }

  async close(): Promise<void> {
    if (!this.#process.isAlive) return;
    this.#process.child.stdin.end();
    const timer = setTimeout(() => this.#process.kill(), graceMs);
    await this.#process.ended;
    clearTimeout(timer);
  }

  #take(data: Buffer): void {
    if (this.failure) return;
    let rest = data;
    for (let at = rest.indexOf(newline); at >= 0; at = rest.indexOf(newline)) {
      const line = Buffer.concat([...this.#pieces, rest.subarray(0, at)]);
      rest = rest.subarray(at + 1);
      this.#pieces = [];
      this.#size = 0;
      if (!this.#read(line)) return;
    }
    if (rest.length === 0) return;
    this.#pieces.push(rest);
    this.#size += rest.length;
    if (this.#size > maxMessageLength) this.#fail(new AnswerTooLarge(maxMessageLength));
  }

  /** @returns whether the next line may be read */
  #read(line: Buffer): boolean {
    // One more than the notifications: the answer itself.
    if (++this.#lines > maxNotifications + 1) {
      this.#fail(new TooManyNotifications(maxNotifications));
      return false;
    }
    if (line.length === 0) return true;
    if (line.length > maxMessageLength) {
      this.#fail(new AnswerTooLarge(maxMessageLength));
      return false;
    }
    try {
      this.onmessage?.(JSON.parse(line.toString('utf8')));
      return true;
    } catch (error) {
      this.#fail(new Error('The tool server wrote something that is no message.', { cause: error }));
      return false;
    }
  }

  #fail(failure: Error): void {
    this.failure = failure;
    this.#pieces = [];
    this.#process.kill();
    this.onerror?.(failure);
  }
}
