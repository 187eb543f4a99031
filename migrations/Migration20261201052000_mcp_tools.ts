import { Migration } from '@mikro-orm/migrations';

/** Workflows that are tools of the MCP server, and the names of the tools. */
export class Migration20261201052000_mcp_tools extends Migration {
  override name = 'Migration20261201052000_mcp_tools';

  override up(): void {
    this.addSql('alter table automation add column mcp json, add column tool_name varchar(64);');
    this.addSql(
      'create unique index automation_tool_index on automation (organization_id, environment, tool_name)' +
        ' where tool_name is not null and deleted_at is null;',
    );
  }
}
