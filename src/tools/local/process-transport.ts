import type { JSONRPCMessage, Transport } from '@modelcontextprotocol/client';
import { JsonRefused, parseJson } from '../../platform/core/bounded-json.ts';
import { CollectedBytes, PieceCount } from '../../platform/egress/collected-bytes.ts';
import { maxMessageLength, maxMessageStructures, maxNotifications } from '../limits.ts';
import { AnswerTooComplex, AnswerTooLarge, TooManyNotifications } from '../tool.ts';
import type { ServerProcess } from './server-process.ts';

const newline = 0x0a;

/** For which a process may end by itself. */
const graceMs = 500;

/**
 * Messages of the Model Context Protocol over a process's standard input and output, a line each. A line that is too
 * long, or not a message, ends the process, because its later output could not be separated.
 */
export class ProcessTransport implements Transport {
  onclose?: () => void;
  onerror?: (error: Error) => void;
  onmessage?: (message: JSONRPCMessage) => void;
  /** Why the process was ended here. */
  failure: Error | undefined;
  readonly #process: ServerProcess;
  #line = new CollectedBytes();
  #pieces = new PieceCount();
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
      const isWhole = this.#add(rest.subarray(0, at));
      const line = this.#line.bytes();
      rest = rest.subarray(at + 1);
      this.#line = new CollectedBytes();
      this.#pieces = new PieceCount();
      if (!isWhole || !this.#read(line)) return;
    }
    if (rest.length > 0) this.#add(rest);
  }

  /** Adds to the current line. @returns whether the process may continue */
  #add(piece: Buffer): boolean {
    if (this.#line.size + piece.length > maxMessageLength) return this.#fail(new AnswerTooLarge(maxMessageLength));
    if (!this.#pieces.add(piece.length)) {
      return this.#fail(new Error('The tool server wrote a message in too many small pieces.'));
    }
    this.#line.add(piece);
    return true;
  }

  /** @returns whether the next line may be read */
  #read(line: Buffer): boolean {
    // One more than the notifications: the answer itself.
    if (++this.#lines > maxNotifications + 1) return this.#fail(new TooManyNotifications(maxNotifications));
    if (line.length === 0) return true;
    try {
      const message = parseJson(line, maxMessageLength, { maxStructures: maxMessageStructures }) as JSONRPCMessage;
      this.onmessage?.(message);
      return true;
    } catch (error) {
      const isComplex = error instanceof JsonRefused && error.reason !== 'malformed';
      if (isComplex) return this.#fail(new AnswerTooComplex());
      return this.#fail(new Error('The tool server wrote something that is not a message.', { cause: error }));
    }
  }

  #fail(failure: Error): false {
    this.failure = failure;
    this.#line = new CollectedBytes();
    this.#process.kill();
    this.onerror?.(failure);
    return false;
  }
}
