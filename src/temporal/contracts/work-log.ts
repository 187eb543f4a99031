/** What every workflow reports to the log of its worker. It changes no command. */
export type WorkLogSinks = {
  workLog: {
    started(): void;
    /** @param failure its type and message; undefined when the workflow succeeded */
    ended(failure: { type: string; message: string } | undefined): void;
  };
};
