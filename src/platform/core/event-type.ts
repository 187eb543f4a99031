import type { JsonSchema, MemberSchemas } from './json-schema.ts';

/** The published facts about a type of event, once for every list, document and check. */
interface Published {
  /** The published name, such as `workflow.run.completed`. */
  readonly type: string;
  /** When it is sent, as a sentence. */
  readonly description: string;
  /** The day from which on it is sent: `YYYY-MM-DD`. */
  readonly since: string;
  /** Whether a newer type replaces it. It is still sent. */
  readonly deprecated?: boolean;
  /** Whether the payload has the name in the field `event` too. */
  readonly repeatsType?: boolean;
}

/** A type of event that webhooks can subscribe to. `Facts` is the data that is stored when the event is published. */
export interface EventType<Facts = never> extends Published {
  /** Renders the field `data` of the payload, with ids and statuses in dialect A's form. */
  data(facts: Facts): object;
  /** The schema of each member of `data`. */
  readonly members: Readonly<Record<string, JsonSchema>>;
  /** Facts from which the published example is rendered. */
  readonly example: object;
}

/** A declaration, whose schema and example must match the rendered data. */
interface Declared<Facts extends object, Data extends object> extends Published {
  data(facts: Facts): Data;
  readonly members: MemberSchemas<Data>;
  readonly example: NoInfer<Facts>;
}

/** Declares a type of event. The feature's part lists it. */
export const defineEvent = <Facts extends object, Data extends object>(
  declared: Declared<Facts, Data>,
): EventType<Facts> => declared;
