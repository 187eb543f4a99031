import { z } from '@hono/zod-openapi';

/** How often a step is tried in all. */
export const retry = z.object({ maxAttempts: z.int().min(1).max(20) });
