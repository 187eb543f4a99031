// This file is generated from the OpenAPI document.

import type { RequestOptions } from '../../core/options.ts';
import { Resource } from '../../core/resource.ts';
import * as sdk from '../api/sdk.gen.ts';
import type * as api from '../api/types.gen.ts';

export class OperationsWebhookGateway extends Resource {
  /**
   * Drain the outbox.
   *
   * Processes the entries that committed changes enqueued. Safe to call at any time and concurrently.
   */
  get(options?: RequestOptions): Promise<api.OutboxDrain> {
    return this.transport.call(sdk.getWebhookGateway, {}, { answer: 'json', isRepeatable: true }, options);
  }

  /**
   * Drain the outbox.
   *
   * Processes the entries that committed changes enqueued. Safe to call at any time and concurrently.
   */
  drain(options?: RequestOptions): Promise<api.OutboxDrain> {
    return this.transport.call(sdk.postWebhookGateway, {}, { answer: 'json' }, options);
  }
}
