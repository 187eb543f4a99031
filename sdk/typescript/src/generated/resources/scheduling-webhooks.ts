// This file is generated from the OpenAPI document.

import type { RequestOptions } from '../../core/options.ts';
import { Resource } from '../../core/resource.ts';
import * as sdk from '../api/sdk.gen.ts';
import type * as api from '../api/types.gen.ts';

export class SchedulingWebhooks extends Resource {
  /**
   * Create a webhook for bookings.
   *
   * Sends events of bookings to a URL of yours. It is a webhook like any other: it is listed, changed and deleted
   * below `/webhooks`, and counts toward the webhooks that the plan includes; one more is answered with 403
   * `forbidden`.
   */
  create(body: NonNullable<api.CreateBookingWebhookData['body']>, options?: RequestOptions): Promise<api.BookingWebhook> {
    return this.transport.call(sdk.createBookingWebhook, { body }, { answer: 'json', isEnveloped: true, isRepeatable: true, takesKey: true }, options);
  }
}
