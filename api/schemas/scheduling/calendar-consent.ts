import { z } from '@hono/zod-openapi';
import { lineText, text } from '../text.ts';
import { alike } from './values.ts';

const names = ['google', 'microsoft', 'office365', 'outlook'] as const;
const service = z.enum(names).openapi({ description: '`office365` and `outlook` are other names of `microsoft`.' });

const maxUrlLength = 2_048;
const maxHintLength = 320;

/** A request to connect a calendar. */
export const newConsentSchema = z
  .object({
    service: service.optional(),
    provider: service.optional().openapi({ description: 'Another name of `service`.' }),
    hostId: z.string().optional().openapi({ description: 'The host of the calendar. Default: the default host.' }),
    redirectUrl: text(maxUrlLength).optional().openapi({
      description:
        "Where the owner of the account goes afterwards, with `status=connected&calendarId=` or `status=error&error=` added to the query: one of the organization's allowed addresses, with any query. Without it a page says how it went.",
    }),
    loginHint: lineText(maxHintLength).optional().openapi({
      description:
        'The account, such as an e-mail address, without control characters. `sandbox:denied` is refused in the sandbox.',
    }),
  })
  .superRefine(({ service: given, provider }, context) => {
    if (given !== undefined || provider !== undefined) return;
    context.addIssue({ code: 'custom', path: ['service'], message: `Expected one of ${names.join(', ')}.` });
  })
  .openapi('NewCalendarConsent', { description: 'Either `service` or `provider` is required.' });

export const newConsentExamples = {
  A: { service: 'google' },
  B: { service: 'microsoft', loginHint: 'ada@example.com' },
} as const;
const state = 'vZ3F0a7mQy1Xo2Kq8wLr5tNc6bJd9eHg4sUiPzTxAlM';
export const consentExamples = alike({
  authUrl: `https://api.example.com/sandbox/oauth/authorize?state=${state}`,
  state,
  expiresIn: 600,
});

/** The service behind its names. */
export const serviceOf = ({ service: given, provider }: z.infer<typeof newConsentSchema>) =>
  (given ?? provider) === 'google' ? 'google' : 'microsoft';
