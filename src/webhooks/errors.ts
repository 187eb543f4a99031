import { AppError } from '../platform/errors.ts';

/** @param webhookId as the caller wrote it */
export const webhookNotFound = (webhookId: string) =>
  new AppError('not_found', 'No webhook has this id.', { webhookId });

/** @param deliveryId as the caller wrote it */
export const deliveryNotFound = (deliveryId: string) =>
  new AppError('not_found', 'No delivery has this id.', { deliveryId });

/** The answer to what would send content that was removed. */
export const contentExpunged = () => new AppError('conflict', 'The content of the delivery was removed.');

/** @param type as the caller wrote it */
export const eventTypeNotFound = (type: string) => new AppError('not_found', 'No event type has this name.', { type });
