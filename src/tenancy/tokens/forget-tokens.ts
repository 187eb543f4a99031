import { removalOf } from '../../platform/database/remove-rows.ts';

/** Removes tokens a day after their end: until then their browsers learn that they have ended. */
export const forgetEndedTokens = removalOf({
  name: 'browser_token.forget',
  table: 'browser_token',
  where: `expires_at < atelier_now() - interval '1 day'`,
});
