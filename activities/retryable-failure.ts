import { ApplicationFailure } from '@temporalio/activity';
import type { ProviderFailure } from '../src/platform/provider-failure.ts';
import { failureTypes } from '../src/temporal/contracts/failure-types.ts';

/**
 * A failure of a provider in the form after which Temporal retries the activity: after the time that the provider
 * requested, if any.
 */
export const retryableFailure = ({
  message,
  retryAfterMs,
}: Pick<ProviderFailure, 'message' | 'retryAfterMs'>): ApplicationFailure =>
  ApplicationFailure.create({
    message,
    type: failureTypes.providerUnavailable,
    ...(retryAfterMs !== undefined && { nextRetryDelay: retryAfterMs }),
  });
