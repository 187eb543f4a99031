// This file is generated from the OpenAPI document.

import type { Data, RequestOptions } from '../../core/options.ts';
import type { List } from '../../core/pagination.ts';
import { Resource } from '../../core/resource.ts';
import * as sdk from '../api/sdk.gen.ts';
import type * as api from '../api/types.gen.ts';
import { WebhooksDeliveriesContent } from './webhooks-deliveries-content.ts';

export class WebhooksDeliveries extends Resource {
  readonly content = new WebhooksDeliveriesContent(this.transport);

  /**
   * List webhook deliveries.
   *
   * Newest first, each with the result of its last attempt. With both filters, deliveries that match both are
   * returned.
   */
  list(id: string, query?: api.ListDeliveriesData['query'], options?: RequestOptions): List<api.Delivery> {
    return this.transport.list(sdk.listDeliveries, { path: { id }, query }, 'deliveries', options);
  }

  /**
   * Retrieve a delivery.
   *
   * Returns the delivery with its attempts.
   */
  get(id: string, deliveryId: string, options?: RequestOptions): Promise<api.DeliveryDetail> {
    return this.transport.call(sdk.getDelivery, { path: { id, deliveryId } }, { answer: 'json', isEnveloped: true, isRepeatable: true }, options);
  }

  /**
   * Replay a dead-lettered delivery.
   *
   * Delivers the event again with the same event id and a full set of attempts. Answered with 409 `conflict` if
   * the delivery is not dead-lettered, its content was removed, or the webhook is inactive.
   */
  replay(id: string, deliveryId: string, options?: RequestOptions): Promise<Data<api.ReplayDeliveryResponse>> {
    return this.transport.call(sdk.replayDelivery, { path: { id, deliveryId } }, { answer: 'json', isEnveloped: true, isRepeatable: true, takesKey: true }, options);
  }

  /**
   * Resend a delivery.
   *
   * Sends the event of any delivery, delivered ones included, once more to the webhook: as a new delivery with
   * the same event id and body. The earlier delivery stays as it is. Answered with 409 `conflict` if the webhook
   * is inactive or the content was removed.
   */
  resend(id: string, deliveryId: string, options?: RequestOptions): Promise<Data<api.ResendDeliveryResponse>> {
    return this.transport.call(sdk.resendDelivery, { path: { id, deliveryId } }, { answer: 'json', isEnveloped: true, isRepeatable: true, takesKey: true }, options);
  }
}
