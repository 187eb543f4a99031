/** A feature of the API with the commands that show it, for a POSIX shell with curl. */
export interface FeatureExample {
  feature: string;
  /** What the commands do, in Markdown. */
  text: string;
  commands: readonly string[];
}

const json = "-H 'Content-Type: application/json'";
const key = '-H "Authorization: Bearer $KEY"';

/** @param base the public base URL, without a slash at its end */
export const featureExamples = (base: string): FeatureExample[] => {
  const get = (path: string) => `curl "${base}${path}" ${key}`;
  const send = (path: string, body: string, more = '') =>
    `curl ${base}${path} ${key} ${json}${more} \\\n  -d '${body}'`;
  return [
    {
      feature: 'Triggers',
      text: 'Start a run with the body of a webhook: its members are the variables of the run. Without a key, send the secret of `POST /workflows/{id}/webhook-secret` in `X-Webhook-Secret`.',
      commands: [send('/api/v1/webhooks/WORKFLOW_ID', '{"order": 1207, "customer": "Ada"}')],
    },
    {
      feature: 'Webhooks',
      text: 'Have events sent to an address of yours. The answer has the secret that signs them. The bodies of all events are listed under Webhooks at the end of this page.',
      commands: [
        send(
          '/api/v1/webhooks',
          '{"name": "Orders", "url": "https://hooks.example.com/runs", "events": ["workflow.run.completed"]}',
        ),
      ],
    },
    {
      feature: 'Chat and agents',
      text: 'Send a conversation to a model. With `"stream": true` the reply arrives as Server-Sent Events. An agent has your instructions.',
      commands: [
        send('/api/chat', '{"messages": [{"role": "user", "content": "Who wrote the first program?"}]}'),
        send('/api/agents/chat', '{"systemPrompt": "You answer in one sentence.", "message": "What is a monad?"}'),
      ],
    },
    {
      feature: 'Studio',
      text: 'Generate an image, and start a video, whose state you read until it has ended.',
      commands: [
        send(
          '/api/studio/generate',
          '{"prompt": "A lighthouse at dusk", "aspectRatio": "16:9"}',
          " -H 'Idempotency-Key: lighthouse-1'",
        ),
        send('/api/studio/generate-video', '{"prompt": "Waves at a lighthouse", "duration": 5}'),
        get('/api/studio/generate-video?id=VIDEO_ID'),
      ],
    },
    {
      feature: 'Voice',
      text: 'Turn a text into an MP3 file, and transcribe it.',
      commands: [
        `${send('/api/voice/tts', '{"text": "Your order has arrived.", "voice": "nova"}')} -o order.mp3`,
        `curl ${base}/api/voice/stt ${key} -F audio=@order.mp3`,
      ],
    },
    {
      feature: 'Scheduling',
      text: 'Offer times, list the free ones, and book one.',
      commands: [
        send('/api/v1/scheduling/event-types', '{"name": "Intro call", "duration": 30}'),
        get('/api/v1/scheduling/availability?eventTypeId=EVENT_TYPE_ID&start=2030-06-12&end=2030-06-14'),
        send(
          '/api/v1/scheduling/bookings',
          '{"eventTypeId": "EVENT_TYPE_ID", "start": "2030-06-12T09:00:00Z", "attendee": {"name": "Grace", "email": "grace@example.com"}}',
        ),
      ],
    },
    {
      feature: 'Integrations',
      text: 'Connect an account: send its owner to `authUrl`. A test key connects an account of the sandbox at that address at once. Then act in it.',
      commands: [
        `curl -X POST ${base}/api/v1/integrations/slack/connect ${key}`,
        send('/api/v1/integrations/slack/actions/send_message', '{"channel": "C0123456789", "text": "Deployed."}'),
      ],
    },
    {
      feature: 'Account',
      text: 'Read the credits that remain, and what was used.',
      commands: [get('/api/v1/credits'), get('/api/v1/usage')],
    },
  ];
};
