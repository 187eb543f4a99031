// Templates that read and write text.
import { text, type WorkflowTemplate } from './template.ts';

const summarize: WorkflowTemplate = {
  id: 'summarize',
  name: 'Summarize a text',
  description: 'One prompt: the input of the run becomes a summary of three sentences.',
  inputs: [],
  steps: [{ id: 'summary', type: 'prompt', prompt: 'Summarize in three sentences: {{input}}' }],
  example: { input: 'Atelier executes workflows of AI steps on Temporal. They survive crashes and wait for free.' },
};

const classify: WorkflowTemplate = {
  id: 'classify-and-route',
  name: 'Classify a message and route it',
  description: 'A prompt whose answer is JSON by its schema, and conditions that choose the step which answers.',
  inputs: [text('message', 'What the customer wrote.')],
  steps: [
    {
      id: 'classify',
      type: 'prompt',
      prompt: 'Is this message urgent? {{message}}',
      outputSchema: {
        type: 'object',
        properties: { urgent: { type: 'boolean' } },
        required: ['urgent'],
        additionalProperties: false,
      },
    },
    { id: 'is_urgent', type: 'condition', expression: 'steps.classify.output.urgent', then: 'urgent', else: 'usual' },
    { id: 'urgent', type: 'prompt', prompt: 'Write an apology and a promise to call within an hour: {{message}}' },
    { id: 'answered', type: 'condition', expression: 'true', then: 'end' },
    { id: 'usual', type: 'prompt', prompt: 'Answer kindly: {{message}}' },
  ],
  example: { variables: { message: 'The site is down and our customers are waiting.' } },
};

const mapReviews: WorkflowTemplate = {
  id: 'map-reviews',
  name: 'Read each review of a list',
  description:
    'A map: each item is read by a prompt, five at a time, a failed one does not stop the others, and a last prompt sums them up.',
  inputs: [],
  steps: [
    {
      id: 'each',
      type: 'map',
      items: 'input',
      mode: 'settled',
      steps: [{ id: 'read', type: 'prompt', prompt: 'What does this reviewer like and dislike? {{item.text}}' }],
    },
    { id: 'overview', type: 'prompt', prompt: 'Sum up these reviews: {{steps.each.output.outputs}}' },
  ],
  example: { input: [{ text: 'Light and quick.' }, { text: 'The saddle is hard.' }] },
};

const research: WorkflowTemplate = {
  id: 'research',
  name: 'Research a question',
  description:
    'A prompt whose model searches the web, beside one that lists what is known, and a prompt that writes the report of both. Live keys need the tool server web-search.',
  inputs: [text('question', 'What is to be found out.')],
  steps: [
    {
      id: 'sources',
      type: 'parallel',
      branches: [
        {
          id: 'web',
          steps: [{ id: 'search', type: 'prompt', prompt: 'Search the web: {{question}}', tools: ['web-search'] }],
        },
        { id: 'known', steps: [{ id: 'recall', type: 'prompt', prompt: 'What is well known about: {{question}}' }] },
      ],
    },
    {
      id: 'report',
      type: 'prompt',
      prompt:
        'Write a report on {{question}}. Found: {{steps.sources.output.results.web.output}} Known: {{steps.sources.output.results.known.output}}',
    },
  ],
  example: { variables: { question: 'How do bicycles stay upright?' } },
};

const digest: WorkflowTemplate = {
  id: 'nightly-digest',
  name: 'Nightly digest',
  description:
    'A schedule: every night at six a prompt writes about each topic, and another one makes a digest of all. The schedule is paused until it is put again.',
  inputs: [{ name: 'topics', type: 'array', required: false, default: ['Bicycles', 'Trains'], description: 'Topics.' }],
  steps: [
    {
      id: 'each',
      type: 'map',
      items: 'variables.topics',
      steps: [{ id: 'write', type: 'prompt', prompt: 'Two sentences on {{item}}.' }],
    },
    { id: 'digest', type: 'prompt', prompt: 'A digest of: {{steps.each.output.outputs}}' },
  ],
  schedule: { cron: '0 6 * * *', timezone: 'UTC' },
  example: { variables: { topics: ['Bicycles'] } },
};

export const textTemplates = [summarize, classify, mapReviews, research, digest];
