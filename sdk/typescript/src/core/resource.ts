import type { Transport } from './transport.ts';

/** A part of the service: its methods make requests. */
export class Resource {
  protected readonly transport: Transport;

  constructor(transport: Transport) {
    this.transport = transport;
  }
}
