import { type JSONRPCMessage, StreamableHTTPClientTransport } from '@modelcontextprotocol/client';
import { maxServerRequests } from '../limits.ts';
import { TooManyServerRequests } from '../tool.ts';

type Options = NonNullable<ConstructorParameters<typeof StreamableHTTPClientTransport>[1]>;

const isRequest = (message: JSONRPCMessage) => 'method' in message && 'id' in message;
const isAnswer = (message: JSONRPCMessage) => !('method' in message);

/**
 * A transport whose server may send few requests. A request is a few bytes of a server's answer and is itself answered
 * with a request of ours, so unlimited ones would make a thousand requests out of a call, and hold as many connections.
 */
export class BoundedTransport extends StreamableHTTPClientTransport {
  readonly #tooMany: (failure: Error) => void;
  /** Since our last request, with those that were still under way then. */
  #answers = 0;
  #underWay = 0;

  /** @param tooMany is called instead of sending an answer above the limit */
  constructor(url: URL, options: Options, tooMany: (failure: Error) => void) {
    super(url, options);
    this.#tooMany = tooMany;
  }

  override async send(...sent: Parameters<StreamableHTTPClientTransport['send']>): Promise<void> {
    const messages = [sent[0]].flat();
    if (messages.some(isRequest)) this.#answers = this.#underWay;
    if (!messages.some(isAnswer)) return super.send(...sent);
    this.#answers++;
    if (this.#answers > maxServerRequests) return this.#tooMany(new TooManyServerRequests(maxServerRequests));
    this.#underWay++;
    try {
      await super.send(...sent);
    } finally {
      this.#underWay--;
    }
  }
}
