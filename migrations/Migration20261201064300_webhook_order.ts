import { Migration } from '@mikro-orm/migrations';

/** Deliveries about one subject may wait for each other: see src/webhooks/dispatch/subject-order.ts. */
export class Migration20261201064300_webhook_order extends Migration {
  override name = 'Migration20261201064300_webhook_order';

  override up(): void {
    const open = "status in ('pending', 'retrying')";
    for (const sql of [
      `alter table webhook_subscription
        add column ordering varchar(7) not null default 'none' check (ordering in ('none', 'subject'));`,
      `alter table delivery
        add column subject varchar(100),
        add column is_held boolean not null default false;`,
      // Each takes the place of one that has those that are held too.
      `create index delivery_ready_index on delivery (subscription_id, created_at)
        where status = 'pending' and attempts = 0 and not is_held;`,
      'drop index delivery_first_index;',
      `create index delivery_next_index on delivery (next_attempt_at) where ${open} and attempts > 0 and not is_held;`,
      'drop index delivery_due_index;',
      `create index delivery_retry_index on delivery (subscription_id, next_attempt_at)
        where ${open} and attempts > 0 and not is_held;`,
      'drop index delivery_waiting_index;',
      `create index delivery_held_index on delivery (subscription_id, subject, id) where is_held and ${open};`,
      `create index delivery_subject_index on delivery (subscription_id, subject, id)
        where subject is not null and ${open};`,
    ]) {
      this.addSql(sql);
    }
  }
}
