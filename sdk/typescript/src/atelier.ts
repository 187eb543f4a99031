import type { ClientOptions } from './core/options.ts';
import { Transport } from './core/transport.ts';
import { Resources } from './generated/resources/index.ts';

/**
 * A client of the service. Its members are named as the parts of the service are:
 *
 *     const atelier = new Atelier({ apiKey, baseUrl });
 *     const run = await atelier.workflows.run(workflowId, { input: 'Hello' });
 */
export class Atelier extends Resources {
  /** @throws TypeError when an option cannot be used */
  constructor(options: ClientOptions | Transport) {
    super(options instanceof Transport ? options : new Transport(options));
  }

  /** The same client with other options. */
  withOptions(options: Partial<ClientOptions>): Atelier {
    return new Atelier(this.transport.withOptions(options));
  }
}
