// This file is generated from the OpenAPI document.

import type { RequestOptions } from '../../core/options.ts';
import type { List } from '../../core/pagination.ts';
import { Resource } from '../../core/resource.ts';
import * as sdk from '../api/sdk.gen.ts';
import type * as api from '../api/types.gen.ts';

export class WebhookEvents extends Resource {
  /**
   * List event types.
   *
   * All types of events, each with the JSON Schema of its body and an example. Webhooks subscribe to them, and
   * triggers and `event` steps of workflows name them.
   */
  list(options?: RequestOptions): List<api.WebhookEventDescription> {
    return this.transport.list(sdk.listWebhookEvents, {}, 'events', options);
  }

  /**
   * Retrieve an event type.
   *
   * Returns the JSON Schema of the body and an example.
   */
  get(type: string, options?: RequestOptions): Promise<api.WebhookEventDescription> {
    return this.transport.call(sdk.getWebhookEvent, { path: { type } }, { answer: 'json', isEnveloped: true, isRepeatable: true }, options);
  }
}
