import type { OpenAPIHono } from '@hono/zod-openapi';
import type { Build } from '../src/operations/inspect.ts';
import type { Services } from '../src/services.ts';
import type { ApiEnv } from './context.ts';
import type { Envelope } from './envelopes.ts';
import type { FeatureExample } from './openapi/reference-examples.ts';
import type { Surface } from './surface.ts';

/** A group of operations in the reference. */
export interface Tag {
  name: string;
  description: string;
}

/** How a caller proves its identity, as OpenAPI describes it. */
export type SecurityScheme =
  | { type: 'http'; scheme: 'bearer'; bearerFormat?: string; description: string }
  | { type: 'apiKey'; in: 'header' | 'cookie'; name: string; description: string };

/** The HTTP side of a feature: its routes, and its text in the reference. */
export interface ApiFeature extends Pick<Surface, 'ids'> {
  tags: readonly Tag[];
  /** The text of the start page about it. */
  overview?: { title: string; text: string };
  example?: FeatureExample;
  /** The envelope of its failures, where it is the feature's own. */
  envelope?: Envelope;
  /** Ways to authenticate besides API keys, by the names that its operations use. */
  securitySchemes?: Record<string, SecurityScheme>;
  /** @param mounts everything that the API serves */
  routes(services: Services, build: Build, mounts: readonly Mount[]): OpenAPIHono<ApiEnv>[];
}

/** A feature at the paths where it is served. Several features may share a path if they answer in the same way. */
export interface Mount extends Omit<ApiFeature, 'envelope'>, Surface {}
