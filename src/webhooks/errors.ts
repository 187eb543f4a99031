import { AppError } from '../platform/errors.ts';

/** @param webhookId as the caller wrote it */
export const webhookNotFound = (webhookId: string) =>
  new AppError('not_found', 'No webhook has this id.', { webhookId });

/** @param deliveryId as the caller wrote it */
export const deliveryNotFound = (deliveryId: string) =>
  new AppError('not_found', 'No delivery has this id.', { deliveryId });

/** @param type as the caller wrote it */
export const eventTypeNotFound = (type: string) => new AppError('not_found', 'No event type has this name.', { type });
