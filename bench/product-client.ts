import { Agent, type IncomingHttpHeaders, request } from 'node:http';

/** An answer as it came. */
export interface Answer {
  status: number;
  headers: IncomingHttpHeaders;
  text: string;
}

/** Speaks JSON to the product over connections that are kept, with as little work as possible beside it. */
export class ProductClient {
  readonly #base: string;
  readonly key: string;
  // Before the server's own limit, so that it never closes a connection under a request.
  readonly #agent = new Agent({ keepAlive: true, timeout: 30_000 });

  constructor(base: string, key: string) {
    this.#base = base;
    this.key = key;
  }

  /** The `data` of the answer. Throws unless it is a success. */
  post<Data>(path: string, body: unknown): Promise<Data> {
    return this.#data('POST', path, JSON.stringify(body));
  }

  /** The `data` of the answer. Throws unless it is a success. */
  get<Data>(path: string): Promise<Data> {
    return this.#data('GET', path);
  }

  /** Whatever is answered to a GET with this key. */
  look(path: string, key: string): Promise<Answer> {
    return this.#ask('GET', path, key);
  }

  /** Whatever is answered. */
  send(method: string, path: string, body?: unknown, headers: Record<string, string> = {}): Promise<Answer> {
    return this.#ask(method, path, this.key, body === undefined ? undefined : JSON.stringify(body), headers);
  }

  /** Resolves as soon as a streamed answer to a POST has this text. Rejects where it ends without it. */
  untilText(path: string, body: unknown, wanted: string): Promise<void> {
    const text = JSON.stringify(body);
    const headers = { authorization: `Bearer ${this.key}`, 'content-type': 'application/json' };
    return new Promise((resolve, reject) => {
      const sent = request(new URL(path, this.#base), { method: 'POST', agent: this.#agent, headers }, (response) => {
        let read = '';
        response.setEncoding('utf8');
        response.on('data', (chunk: string) => {
          read += chunk;
          if (read.includes(wanted)) resolve();
        });
        // The rest is read, so that the connection is kept.
        response.on('end', () => reject(new Error(`${path} ended without "${wanted}": ${read.slice(0, 500)}`)));
      });
      sent.on('error', reject);
      sent.end(text);
    });
  }

  async #data<Data>(method: string, path: string, body?: string): Promise<Data> {
    const { status, text } = await this.#ask(method, path, this.key, body);
    if (status !== 200 && status !== 201)
      throw new Error(`${method} ${path} answered ${status}: ${text.slice(0, 500)}`);
    return (JSON.parse(text) as { data: Data }).data;
  }

  #ask(method: string, path: string, key: string, body?: string, more = {}): Promise<Answer> {
    const headers = {
      ...more,
      authorization: `Bearer ${key}`,
      ...(body !== undefined && { 'content-type': 'application/json', 'content-length': Buffer.byteLength(body) }),
    };
    return new Promise((resolve, reject) => {
      const sent = request(new URL(path, this.#base), { method, agent: this.#agent, headers }, (response) => {
        const chunks: string[] = [];
        response.setEncoding('utf8');
        response.on('data', (chunk) => chunks.push(chunk));
        response.on('end', () =>
          resolve({ status: response.statusCode ?? 0, headers: response.headers, text: chunks.join('') }),
        );
        response.on('error', reject);
      });
      sent.on('error', reject);
      sent.end(body);
    });
  }

  close(): void {
    this.#agent.destroy();
  }
}
