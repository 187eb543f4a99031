import type { EventType } from '../../platform/core/event-type.ts';
import { bodySchemaOf, exampleBodyOf } from './event-body.ts';

/** Every event type that a part declares, by name. */
export type EventCatalog = ReadonlyMap<string, EventType>;

/** The published facts about a type of event. */
interface CatalogEntry {
  type: string;
  /** When it is sent. */
  description: string;
  /** The JSON Schema of the whole body. */
  schema: Record<string, unknown>;
  example: Record<string, unknown>;
  /** `YYYY-MM-DD` */
  since: string;
  deprecated: boolean;
}

const dialect = { $schema: 'https://json-schema.org/draft/2020-12/schema' };

export function publishedEntry(declared: EventType): CatalogEntry {
  const { type, description, since, deprecated = false } = declared;
  const schema = { ...dialect, ...bodySchemaOf(declared) };
  return { type, description, schema, example: { ...exampleBodyOf(declared) }, since, deprecated };
}

/** The name of a type in documents that generate programs: `WorkflowRunCompletedEvent`. */
export const programmersName = (type: string): string =>
  `${type.replaceAll(/(?:^|[^a-z0-9])([a-z0-9])/g, (_, letter: string) => letter.toUpperCase())}Event`;
