/** Time limits. */
export interface ConnectionPolicy {
  /** An exchange or a refresh, with everything. */
  tokenMs: number;
  /** Revoking a grant. */
  revokeMs: number;
  /**
   * Longer than a refresh takes: when the process that refreshes has died, another one begins after this, with the same
   * refresh token.
   */
  leaseMs: number;
  /** How long a call waits for the refresh of another process. Longer than a lease. */
  waitMs: number;
  /** Between two refreshes of a connection that fail. */
  pauseMs: number;
  /** The same, where the provider asks to wait. */
  maxPauseMs: number;
}

export const connectionPolicy: ConnectionPolicy = {
  tokenMs: 10_000,
  revokeMs: 5_000,
  leaseMs: 20_000,
  waitMs: 25_000,
  pauseMs: 1_000,
  maxPauseMs: 60_000,
};
