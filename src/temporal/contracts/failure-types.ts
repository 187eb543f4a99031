/** The closed list of ApplicationFailure types that workflows and activities throw at each other. */
export const failureTypes = {
  /** Retryable: the provider may answer later. */
  providerUnavailable: 'ProviderUnavailable',
  /** A run ended as failed. Its workflow fails too, so that operators find it among the failed ones. */
  runFailed: 'RunFailed',
  /** A generation failed. Its workflow fails too, for the same reason. */
  generationFailed: 'GenerationFailed',
  /** A calendar could not be read. Its workflow fails too, for the same reason. */
  calendarSyncFailed: 'CalendarSyncFailed',
  /** A message to a model has no reply. Its workflow fails too, for the same reason. */
  messageFailed: 'TurnFailed',
  /** Effects of a booking failed unexpectedly. Its workflow fails too, for the same reason. */
  bookingEffectsFailed: 'BookingEffectsFailed',
  /** A text was not spoken, or a recording not transcribed. Its workflow fails too, for the same reason. */
  voiceCallFailed: 'VoiceCallFailed',
  /** An action of an integration was not done, or nobody knows. Its workflow fails too, for the same reason. */
  actionFailed: 'ActionFailed',
  /** An operator's answer to an approval was refused; the message says why. */
  approvalRefused: 'ApprovalRefused',
  /** An operator typed arguments that make no sense; the message says why. */
  invalidArguments: 'InvalidArguments',
} as const;
