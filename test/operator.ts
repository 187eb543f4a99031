const cronSecret = 'cron-secret-of-these-tests-0123456789';

/** What an installation has that is configured in full. */
export const secrets = {
  SEALING_KEYS: `k1:${Buffer.alloc(32).toString('base64')}`,
  URL_SIGNING_KEY: 'u'.repeat(32),
  CRON_SECRET: cronSecret,
};

/** The headers of its operator. */
export const asOperator = { authorization: `Bearer ${cronSecret}` };
