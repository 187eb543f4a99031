import { z } from '@hono/zod-openapi';

/** Where a connection begins: its owner grants access at a page of the provider. */
export const consentSchema = z
  .object({
    authUrl: z.string().openapi({ description: 'Where to send the owner of the account.' }),
    state: z.string().openapi({ description: 'Identifies this request. It can be used once.' }),
    expiresIn: z.int().openapi({ description: 'Seconds until the request expires.' }),
  })
  .openapi('Consent');
