import type { ToolServer } from './server.ts';

/** Files of the organization. The functions are those of the npm package of the Model Context Protocol. */
export const filesystem: ToolServer = {
  id: 'filesystem',
  name: 'Files',
  description: 'Reads and writes files in a folder of the organization, shown as `/`.',
  url: 'none',
  live: { kind: 'local', program: 'filesystem' },
  functions: [
    'read_file',
    'read_text_file',
    'read_media_file',
    'read_multiple_files',
    'write_file',
    'edit_file',
    'create_directory',
    'list_directory',
    'list_directory_with_sizes',
    'directory_tree',
    'move_file',
    'search_files',
    'get_file_info',
    'list_allowed_directories',
  ],
};

/** A knowledge graph. The functions are those of the npm package of the Model Context Protocol. */
export const memory: ToolServer = {
  id: 'memory',
  name: 'Memory',
  description: 'Remembers entities, observations about them and relations between them.',
  url: 'none',
  live: { kind: 'local', program: 'memory' },
  functions: [
    'create_entities',
    'create_relations',
    'add_observations',
    'delete_entities',
    'delete_observations',
    'delete_relations',
    'read_graph',
    'search_nodes',
    'open_nodes',
  ],
};

/** A database of the organization, served by src/tools/local/sqlite-server.ts. */
export const sqlite: ToolServer = {
  id: 'sqlite',
  name: 'SQLite',
  description: 'Queries and changes an SQLite database of the organization.',
  url: 'none',
  live: { kind: 'local', program: 'sqlite' },
  functions: ['list_tables', 'describe_table', 'query', 'execute'],
};
