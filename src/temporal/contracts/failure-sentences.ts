/** The meaning of each code of a failure, for operators: our own words, so that no data of a tenant is in Temporal. */
const sentences: Record<string, string> = {
  service_unavailable: 'A model, a tool server or the storage was not available after all attempts.',
  provider_error: 'The provider answered with an error, or in a way that cannot be used.',
  timeout: 'It did not end within its time limit.',
  content_policy: 'The provider refused the request because of its content.',
  content_refused: 'The model refused the request because of its content.',
  invalid_input: 'The provider cannot work with the request or with its image.',
  tools_unavailable: 'A tool server that the message names could not list its tools.',
  expression_error: 'An expression of the step could not be evaluated.',
  output_schema_mismatch: 'The output does not match the schema of the step.',
  output_too_large: 'The outputs of the run are larger than the limit.',
  storage_full: 'The organization has used all the storage of its plan.',
  internal_error: 'An internal error. The log has the details, under the correlation id.',
  action_failed: 'The integration did not perform the action, or its answer was lost.',
  auth_expired: 'The provider no longer accepts the access to the account. It has to be connected again.',
  invalid_payload: 'The payload of the step or of the action was refused.',
  not_connected: 'The integration, or the account of the request, is not connected.',
  rate_limited: 'The provider limits the requests of the account.',
  insufficient_credits: 'The organization does not have enough credits.',
  too_many_items: 'A list has more items than a map step accepts.',
  too_many_steps: 'The run reached the maximum number of steps.',
  too_many_waiting: 'The plan allows no more waiting runs or approvals, or the run has too many waiting steps.',
  too_deep: 'The chain of runs that start each other is too long.',
  child_failed: 'A run that the step started failed, or could not be started.',
  http_error: 'The server answered with a status that the step does not accept.',
  outcome_unknown: 'The answer to a request that must not be repeated was lost.',
  secret_not_found: 'A secret that the step names does not exist.',
  approval_expired: 'No person answered the approval in time.',
  event_timeout: 'The event that the step waited for did not come in time.',
  superseded: 'A later run of the same workflow took its place.',
  expired: 'It did not begin before it expired.',
  failed_by_step: 'A step of the type `fail` ended it.',
};

/** A code with its meaning. */
export const withSentence = (code: string): string => {
  const sentence = sentences[code];
  return sentence === undefined ? code : `${code}: ${sentence}`;
};
