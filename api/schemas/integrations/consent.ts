import { z } from '@hono/zod-openapi';

const maxUrlLength = 2_048;
const maxScopes = 50;

/** A request to connect an integration. */
export const newIntegrationConsentSchema = z
  .object({
    redirectUrl: z.string().max(maxUrlLength, `Expected at most ${maxUrlLength} characters.`).optional().openapi({
      description:
        "Where the owner of the account goes afterwards, with `integration=&status=connected` or `integration=&status=error&error=` added to the query: one of the organization's allowed addresses, with any query. Without it a page says how it went.",
    }),
    scopes: z
      .array(z.string().max(200, 'Expected at most 200 characters.'))
      .min(1, 'Expected at least one scope.')
      .max(maxScopes, `Expected at most ${maxScopes} scopes.`)
      .optional()
      .openapi({
        description: "The scopes to request, in place of the default ones, which the integration's actions need.",
      }),
  })
  .openapi('NewIntegrationConsent');

const state = 'vZ3F0a7mQy1Xo2Kq8wLr5tNc6bJd9eHg4sUiPzTxAlM';
const asked = {
  authUrl: `https://slack.com/oauth/v2/authorize?client_id=1.2&scope=chat%3Awrite&state=${state}`,
  state,
  expiresIn: 600,
};
export const integrationConsentExamples = { A: asked, B: asked };
export const newIntegrationConsentExamples = { A: {}, B: {} };
