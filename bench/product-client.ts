import { Agent, request } from 'node:http';

/** Speaks JSON to the product over connections that are kept, with as little work as possible beside it. */
export class ProductClient {
  readonly #base: string;
  readonly #key: string;
  // Before the server's own limit, so that it never closes a connection under a request.
  readonly #agent = new Agent({ keepAlive: true, timeout: 30_000 });

  constructor(base: string, key: string) {
    this.#base = base;
    this.#key = key;
  }

  /** The `data` of the answer. Throws unless it is a success. */
  async post<Data>(path: string, body: unknown): Promise<Data> {
    const text = JSON.stringify(body);
    const headers = {
      authorization: `Bearer ${this.#key}`,
      'content-type': 'application/json',
      'content-length': Buffer.byteLength(text),
    };
    const answer = await new Promise<{ status: number | undefined; text: string }>((resolve, reject) => {
      const sent = request(new URL(path, this.#base), { method: 'POST', agent: this.#agent, headers }, (response) => {
        const chunks: string[] = [];
        response.setEncoding('utf8');
        response.on('data', (chunk) => chunks.push(chunk));
        response.on('end', () => resolve({ status: response.statusCode, text: chunks.join('') }));
        response.on('error', reject);
      });
      sent.on('error', reject);
      sent.end(text);
    });
    if (answer.status !== 200 && answer.status !== 201) {
      throw new Error(`POST ${path} answered ${answer.status}: ${answer.text.slice(0, 500)}`);
    }
    return (JSON.parse(answer.text) as { data: Data }).data;
  }

  close(): void {
    this.#agent.destroy();
  }
}
