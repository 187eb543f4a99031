/** The permissions that a token of a browser can have. */
export const tokenScopes = ['runs:read', 'runs:execute', 'chat', 'voice'] as const;
export type TokenScope = (typeof tokenScopes)[number];

/** The runs that a token sees and starts: those that match every given restriction. Ids are UUIDs. */
export interface RunRestriction {
  runIds: readonly string[] | null;
  workflowIds: readonly string[] | null;
  batchId: string | null;
  /** The runs have all of them. */
  tags: readonly string[] | null;
}

/** The session in which a person made a token. */
export interface TokenSession {
  id: string;
  userId: string;
}

/** The restrictions of a browser token on the rights of its key, or of the person who created it. */
export interface TokenAccess {
  id: string;
  /** Null for a token that a key made. */
  session: TokenSession | null;
  /** Null: the token is accepted from every origin. */
  origins: readonly string[] | null;
  /** Whether its requests are counted, because it has a number of uses. */
  isCounted: boolean;
  /** Null: it sees every run. */
  runs: RunRestriction | null;
}

/** Whether a token is accepted from an origin, as browsers name it. */
export const admitsOrigin = ({ origins }: TokenAccess, origin: string): boolean =>
  origins === null || origins.includes(origin);

/**
 * Whether a run of this workflow with these tags can match a restriction. Runs that it names one by one, or by their
 * batch, already exist.
 */
export const mayStart = (
  { runIds, workflowIds, batchId, tags }: RunRestriction,
  workflowId: string,
  given: readonly string[],
): boolean =>
  runIds === null &&
  batchId === null &&
  (workflowIds === null || workflowIds.includes(workflowId)) &&
  (tags === null || tags.every((tag) => given.includes(tag)));

/** How long a token lives, in seconds. */
export const tokenSeconds = { min: 60, max: 86_400, byDefault: 900 } as const;

/** How many of each a token can name. */
export const maxTokenNames = { runs: 100, workflows: 100, tags: 20, origins: 10, uses: 1_000_000 } as const;
