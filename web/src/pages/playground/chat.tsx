import { useQuery } from '@tanstack/react-query';
import { useEffect, useRef, useState } from 'react';
import { exampleOf } from '../../api/example.ts';
import { Button } from '../../components/button.tsx';
import { Json, RequestExample } from '../../components/code.tsx';
import { useDraft } from '../../components/draft.ts';
import { CheckField, SelectField, TextArea, TextField } from '../../components/field.tsx';
import { Section } from '../../components/page.tsx';
import { Problem } from '../../components/problem.tsx';
import { useSession } from '../../session/context.tsx';

interface Message {
  role: 'user' | 'assistant';
  content: string;
  toolCalls?: unknown[];
}

/** Why a reply is no longer read: its conversation is gone. */
const anew = new Error('The conversation has ended.');

/** A conversation with a model: with a system prompt it is an agent's. Replies appear as they are written. */
export function Chat() {
  const { api, environment, key, may } = useSession();
  const [messages, setMessages] = useState<Message[]>([]);
  const [text, setText, forgetText] = useDraft('playground.chat', '');
  const [model, setModel] = useState('');
  const [systemPrompt, setSystemPrompt] = useState('');
  const [temperature, setTemperature] = useState('');
  const [servers, setServers] = useState<string[]>([]);
  const [error, setError] = useState<unknown>();
  const abort = useRef<AbortController>(undefined);
  const [isBusy, setBusy] = useState(false);
  const models = useQuery({
    queryKey: key('models'),
    queryFn: ({ signal }) => api.models.list({ signal }).page(),
    staleTime: Number.POSITIVE_INFINITY,
  });
  const tools = useQuery({
    queryKey: key('tools'),
    queryFn: ({ signal }) => api.tools.list({ signal }).page(),
  });

  const history = messages.map(({ role, content }) => ({ role, content }));
  const common = { ...(model && { model }), ...(servers.length > 0 && { mcpServers: servers }) };
  const agent = {
    message: text,
    systemPrompt,
    history,
    ...(temperature && { temperature: Number(temperature) }),
    ...common,
  };
  const chat = { messages: [...history, { role: 'user' as const, content: text }], ...common };

  const send = async () => {
    const before = messages;
    const sent: Message[] = [...before, { role: 'user', content: text }];
    setMessages(sent);
    forgetText();
    setText('');
    setError(undefined);
    setBusy(true);
    abort.current = new AbortController();
    const { signal } = abort.current;
    const reply: Message = { role: 'assistant', content: '' };
    try {
      const stream = systemPrompt ? api.agents.stream(agent, { signal }) : api.chat.stream(chat, { signal });
      for await (const event of stream) {
        if (event.event === 'delta') reply.content += event.data.text;
        if (event.event === 'reply') {
          reply.content = event.data.content;
          if (event.data.toolCalls) reply.toolCalls = event.data.toolCalls;
        }
        setMessages([...sent, { ...reply }]);
      }
    } catch (thrown) {
      if (signal.reason === anew) return;
      if (!signal.aborted) setError(thrown);
      // What got no reply is no part of the conversation: it can be sent again.
      if (reply.content === '') {
        setMessages(before);
        setText(text);
      }
    } finally {
      setBusy(false);
    }
  };
  const beginAnew = () => {
    abort.current?.abort(anew);
    setMessages([]);
    setError(undefined);
  };
  useEffect(() => () => abort.current?.abort(anew), []);
  const toggle = (id: string) =>
    setServers((before) => (before.includes(id) ? before.filter((one) => one !== id) : [...before, id]));

  return (
    <div className="grid items-start gap-x-5 lg:grid-cols-[1fr_18rem]">
      <Section title="Conversation" actions={messages.length > 0 && <Button onClick={beginAnew}>Begin anew</Button>}>
        <ol aria-label="Messages" aria-live="polite" className="m-0 list-none p-0">
          {messages.map((message, index) => (
            <li
              key={index}
              className={`mb-3 rounded-md p-3 whitespace-pre-wrap ${message.role === 'user' ? 'bg-raised' : 'border border-line'}`}
            >
              <strong className="block text-xs text-muted">{message.role === 'user' ? 'You' : 'Model'}</strong>
              {message.content}
              {message.toolCalls && <Json label="Tool calls" value={message.toolCalls} />}
            </li>
          ))}
        </ol>
        {error !== undefined && <Problem error={error} />}
        {may('member') ? (
          <form
            onSubmit={(event) => {
              event.preventDefault();
              void send();
            }}
          >
            <TextArea label="Message" required value={text} onChange={({ target }) => setText(target.value)} />
            <div className="flex gap-2">
              <Button look="primary" type="submit" isBusy={isBusy}>
                Send
              </Button>
              {isBusy && <Button onClick={() => abort.current?.abort()}>Stop</Button>}
            </div>
          </form>
        ) : (
          <p className="text-muted">Viewers read. A member can send messages.</p>
        )}
        <RequestExample
          {...exampleOf(
            systemPrompt
              ? { method: 'POST', path: '/api/agents/chat', body: agent, call: `agents.chat(${JSON.stringify(agent)})` }
              : { method: 'POST', path: '/api/chat', body: chat, call: `chat.create(${JSON.stringify(chat)})` },
            environment,
          )}
        />
      </Section>
      <Section title="Options">
        <SelectField
          label="Model"
          value={model}
          onChange={({ target }) => setModel(target.value)}
          options={[
            { value: '', label: 'Default' },
            ...(models.data?.items ?? [])
              .filter(({ available }) => available)
              .map(({ id }) => ({ value: id, label: id })),
          ]}
        />
        <TextArea
          label="System prompt (optional)"
          hint="With one, the conversation is an agent's."
          value={systemPrompt}
          onChange={({ target }) => setSystemPrompt(target.value)}
        />
        <TextField
          label="Temperature (optional)"
          type="number"
          min={0}
          max={1}
          step={0.1}
          disabled={!systemPrompt}
          value={temperature}
          onChange={({ target }) => setTemperature(target.value)}
        />
        <fieldset className="m-0 border-0 p-0">
          <legend className="mb-1 font-medium">Tool servers</legend>
          {(tools.data?.items ?? [])
            .filter(({ enabled }) => enabled)
            .map(({ id, name }) => (
              <CheckField key={id} label={name} checked={servers.includes(id)} onChange={() => toggle(id)} />
            ))}
        </fieldset>
      </Section>
    </div>
  );
}
