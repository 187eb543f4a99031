import { z } from '@hono/zod-openapi';
import type { MessageRequest } from '../../../src/conversation/sealed-message.ts';
import { maxServers } from '../../../src/tools/core/server-ids.ts';
import { countedList } from '../counted-list.ts';

/** Also where no model is named. */
export const defaultModel = 'gemini-2.0-flash';
const defaultTemperature = 0.7;

/** No limit except that of the body: the provider refuses texts that are too long for the model. */
const said = z
  .string()
  .regex(/\S/, 'Expected at least one character that is not a space.')
  .openapi({ minLength: 1, pattern: '\\S' });

const messageSchema = z
  .object({ role: z.enum(['user', 'assistant']), content: said })
  .openapi('ChatMessage', { description: 'A part of a conversation.' });

/** A body has no room for more. */
const maxMessages = 35_000;

const options = {
  model: z
    .string()
    .min(1)
    .max(200)
    .optional()
    .openapi({ description: `${defaultModel} (the default), gemini-1.5-pro, or another listed text model.` }),
  mcpServers: z.array(z.string().min(1).max(100)).max(maxServers).optional().openapi({
    description:
      'Ids of tool servers whose tools the model may call, and `integration:<id>` for the actions of a connected integration. Test keys have all of them.',
  }),
  stream: z.boolean().optional().openapi({ description: 'Answer with Server-Sent Events.' }),
};

export const chatSchema = z
  .object({
    messages: countedList(
      z
        .array(messageSchema)
        .min(1)
        .refine(
          (messages) => messages.length === 0 || messages.at(-1)?.role === 'user',
          'The last message must have the role user.',
        )
        .openapi({
          description: 'The conversation so far. The last message is the one to reply to, with the role user.',
        }),
      maxMessages,
    ),
    ...options,
  })
  .openapi('ChatRequest');

export const agentSchema = z
  .object({
    message: said.openapi({ description: 'The message to reply to.' }),
    systemPrompt: said.openapi({ description: 'Who the agent is and what it is to do.' }),
    temperature: z
      .number()
      .min(0)
      .max(1)
      .optional()
      .openapi({ description: `Default ${defaultTemperature}. Models without a temperature ignore it.` }),
    history: countedList(z.array(messageSchema), maxMessages)
      .optional()
      .openapi({ description: 'The conversation before the message.' }),
    ...options,
  })
  .openapi('AgentRequest');

export const chatExamples = {
  A: { messages: [{ role: 'user' as const, content: 'Say hello.' }] },
  BWithTools: {
    messages: [
      { role: 'user' as const, content: 'My name is Ada.' },
      { role: 'assistant' as const, content: 'Hello, Ada.' },
      { role: 'user' as const, content: 'Remember it. sandbox:tool=memory_read_graph' },
    ],
    model: 'gemini-1.5-pro',
    mcpServers: ['memory'],
  },
};

export const agentExamples = {
  A: { message: 'What is a good name for a bicycle?', systemPrompt: 'You are terse.', temperature: 0.2 },
};

export const readChat = ({ messages, mcpServers: servers = [] }: z.output<typeof chatSchema>): MessageRequest => ({
  messages: messages.map(({ role, content }) => ({ role, content })),
  servers,
});

export const readAgentMessage = ({
  message,
  systemPrompt: system,
  temperature = defaultTemperature,
  history = [],
  mcpServers: servers = [],
}: z.output<typeof agentSchema>): MessageRequest => ({
  messages: [...history.map(({ role, content }) => ({ role, content })), { role: 'user', content: message }],
  system,
  temperature,
  servers,
});
