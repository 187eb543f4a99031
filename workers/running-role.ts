/** A part of a process that runs until it is told to stop. */
export interface RunningRole {
  /** Settles when the role ends by itself, which it should not. */
  failed?: Promise<void>;
  stop(): Promise<void>;
}
