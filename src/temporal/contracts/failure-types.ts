/**
 * The types of ApplicationFailure that workflows and activities exchange. Those of jobs are in their contracts: the
 * workflow of a job without a result fails too, so that operators find it among the failed ones.
 */
export const failureTypes = {
  /** Retryable: the provider may answer later. */
  providerUnavailable: 'ProviderUnavailable',
  /** A run failed. Its workflow fails too, so that operators find it among the failed ones. */
  runFailed: 'RunFailed',
  /** A calendar could not be read. Its workflow fails too, for the same reason. */
  calendarSyncFailed: 'CalendarSyncFailed',
  /** Effects of a booking failed unexpectedly. Its workflow fails too, for the same reason. */
  bookingEffectsFailed: 'BookingEffectsFailed',
  /** An operator's answer to an approval was refused; the message says why. */
  approvalRefused: 'ApprovalRefused',
  /** An operator typed invalid arguments; the message says why. */
  invalidArguments: 'InvalidArguments',
} as const;
