import { Migration } from '@mikro-orm/migrations';

/** A person who is signed in makes tokens, too. They belong to the session, as those of a key belong to it. */
export class Migration20261201051500_tokens_of_sessions extends Migration {
  override name = 'Migration20261201051500_tokens_of_sessions';

  override up(): void {
    for (const sql of [
      'alter table browser_token alter column key_id drop not null;',
      'alter table browser_token add column session_id uuid, add column user_id uuid;',
      `alter table browser_token add constraint browser_token_maker_check
        check ((key_id is null) = (session_id is not null) and (session_id is null) = (user_id is null));`,
    ]) {
      this.addSql(sql);
    }
  }
}
