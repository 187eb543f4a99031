import {
  condition,
  continueAsNew,
  defineSignal,
  proxyLocalActivities,
  setCurrentDetails,
  setHandler,
  setWorkflowOptions,
  workflowInfo,
} from '@temporalio/workflow';
import type { WebhookActivities } from '../activities/webhooks.ts';
import { type RetryOrders, type RetryWebhookArgs, webhookMessages } from '../src/temporal/contracts/webhooks.ts';

/**
 * A look is one transaction of our own database, and sends nothing. It is repeated without limit, because retries of the webhook
 * wait for it: the database is unavailable, or an operator sees the failing task here until the product is repaired.
 */
const { lookAtRetries } = proxyLocalActivities<Pick<WebhookActivities, 'lookAtRetries'>>({
  startToCloseTimeout: '20 seconds',
  retry: { initialInterval: '1 second', maximumInterval: '30 seconds' },
});

const wake = defineSignal(webhookMessages.wake);
const retryNow = defineSignal(webhookMessages.retryNow);
const pause = defineSignal(webhookMessages.pause);
const resume = defineSignal(webhookMessages.resume);

/** A workflow that is not in the cache is replayed from its whole history. */
const maxHistoryLength = 500;

const noOrders: RetryOrders = { retryNow: false, pause: false, resume: false };

/**
 * The timer of a webhook whose deliveries fail. It releases retries in batches, minutes before they are due, to the
 * dispatchers, which make each one on time. It ends when none waits; the next failure starts it again. The rows in
 * PostgreSQL are the truth, and say whether the webhook is paused.
 */
export async function retryWebhook(args: RetryWebhookArgs): Promise<void> {
  let asked: RetryOrders & { look: boolean } = { look: false, ...noOrders };
  const isAsked = () => Object.values(asked).some(Boolean);
  const ask = (what: Partial<typeof asked>) => () => void Object.assign(asked, what);
  const description = (text: string) => ({ description: text });
  setHandler(wake, ask({ look: true }), description('Look at the retries. The product sends this.'));
  setHandler(
    retryNow,
    ask({ retryNow: true }),
    description('Make every retry that waits due now. The breaker, the concurrency and the rate limit still hold.'),
  );
  setHandler(
    pause,
    ask({ pause: true, resume: false }),
    description('Send nothing to this webhook, until the signal resume.'),
  );
  setHandler(
    resume,
    ask({ resume: true, pause: false }),
    description('Send to this webhook again after the signal pause.'),
  );

  for (;;) {
    const { look: _, ...orders } = asked;
    asked = { look: false, ...noOrders };
    const look = await lookAtRetries({ ...args, orders });
    setCurrentDetails(look.details);
    if (look.kind === 'over') {
      if (isAsked()) continue;
      return;
    }
    if (look.again) asked.retryNow = true;
    if (!isAsked() && (workflowInfo().continueAsNewSuggested || workflowInfo().historyLength > maxHistoryLength)) {
      await continueAsNew<typeof retryWebhook>(args);
    }
    await condition(isAsked, look.waitMs);
  }
}
// It may wait for days, through many versions of this code.
setWorkflowOptions({ versioningBehavior: 'AUTO_UPGRADE' }, retryWebhook);
